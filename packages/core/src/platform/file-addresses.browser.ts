/** A page has no `file://` addresses that it may read or write. */
export function registerFileAddresses(): void {}
