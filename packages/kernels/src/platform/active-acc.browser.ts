/** The backend `acc` needs libtorch, so it is never active in a page. */
export function activeAcc(): undefined {}
