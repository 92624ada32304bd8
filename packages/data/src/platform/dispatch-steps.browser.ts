/** Not used: `requireAvailable` refuses the options that need it. */
export const dispatchSteps = (): undefined => undefined;

export const requireFullSteps = (): void => {};
