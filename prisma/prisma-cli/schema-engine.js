#!/usr/bin/env node
// Started by the Prisma command line in place of the binary it would download. Plain JavaScript and executable;
// the rest is TypeScript and runs before anything is compiled.
import './main.ts'
