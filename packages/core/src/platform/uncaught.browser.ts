/** A page shows its errors in its console. */
export function endByUncaught(): void {}
