// An empty program, as the baseline of the compiler's cost.
export {}
