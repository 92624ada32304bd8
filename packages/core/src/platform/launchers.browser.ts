/** Nothing launches a page. */
export function launchedPlace(): undefined {}
/** A page is not started again with what it kept. */
export function rescuePlace(): undefined {}
