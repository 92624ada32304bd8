/** Called with the tokens that each expert of a layer gets in one call. */
export type ExpertLoadObserver = (tokensPerExpert: readonly number[]) => void;

const observers = new Set<ExpertLoadObserver>();

/**
 * Calls `observer` after each routing of tokens to experts in this process.
 *
 * @returns Removes this observer.
 */
export function observeExpertLoads(observer: ExpertLoadObserver): () => void {
  const own: ExpertLoadObserver = (tokens) => observer(tokens);
  observers.add(own);
  return () => void observers.delete(own);
}

/** Tells the observers how many tokens each expert of a layer gets. */
export function noteExpertLoad(tokensPerExpert: readonly number[]): void {
  for (const observer of observers) observer(tokensPerExpert);
}
