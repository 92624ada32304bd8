/** Resolves after `ms` milliseconds. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Lets the process end although the timer is pending. A page has no such end. */
export function unref(timer: unknown): void {
  (timer as { unref?: () => void }).unref?.();
}
