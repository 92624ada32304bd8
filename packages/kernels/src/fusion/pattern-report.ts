/** Collects which patterns of calls were replaced by one operator, and which were not and why. */
export class PatternReport {
  readonly #matched = new Map<string, number>();
  readonly #missed = new Map<string, number>();

  /** @param operator What runs instead, for people. */
  matched(operator: string): void {
    this.#matched.set(operator, (this.#matched.get(operator) ?? 0) + 1);
  }

  /** @param reason What resembles a pattern, and why it was kept. */
  missed(reason: string): void {
    this.#missed.set(reason, (this.#missed.get(reason) ?? 0) + 1);
  }

  /** The lines of the report. Empty if nothing resembles a pattern. */
  lines(): string[] {
    return [
      ...section('patterns that run as one operator:', this.#matched),
      ...section('patterns that were kept:', this.#missed),
    ];
  }
}

function section(title: string, counts: ReadonlyMap<string, number>): string[] {
  if (counts.size === 0) return [];
  return [title, ...[...counts].map(([text, count]) => `  ${count} × ${text}`)];
}
