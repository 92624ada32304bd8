/** Not used: `requireAvailable` refuses the options that need it. */
export const readAhead = (steps: never): never => steps;
