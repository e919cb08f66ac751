// Nothing: what the compiler does with it, it does with every program.
export {}
