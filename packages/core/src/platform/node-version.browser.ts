/** A page has no Node.js. */
export function requireNode(): void {}
