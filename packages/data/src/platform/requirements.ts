/** Node.js has everything that the options need. */
export function requireAvailable(_options: object): void {}
