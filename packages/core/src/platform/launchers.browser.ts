/** Nothing launches a page. */
export function launchedPlace(): undefined {}
