/** A share as whole percent: `12 %`. */
export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
