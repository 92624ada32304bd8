/** The communication hooks that options name. */
export const COMM_HOOKS = {
  fp16: { isLossy: false },
  bf16: { isLossy: false },
  powerSgd: { isLossy: true },
  topK: { isLossy: true },
  oneBit: { isLossy: true },
} as const satisfies Readonly<Record<string, CommHookTraits>>;

export type CommHookName = keyof typeof COMM_HOOKS;

export interface CommHookTraits {
  /** Whether weights differ from those of one process by more than rounding. */
  readonly isLossy: boolean;
}
