/** The shells with a script that completes commands. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
