/** A bundle does not say from which folders it is made. */
export const copiesOfCore = (): string[] => [];
