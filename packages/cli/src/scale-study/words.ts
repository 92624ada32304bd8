/** `1 rank`, `2 ranks`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
