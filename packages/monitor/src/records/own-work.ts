type Pass = 'forward' | 'backward';

/** Tells the work of one training apart from that of others in the process, by its hooks. */
export class OwnWork {
  #pass: Pass | undefined;
  #isReducing = false;
  #isOpen = false;
  #lastHook = -Infinity;
  /** Of the last forward pass, which counts with its backward pass. */
  #forwardFlops = 0;
  #flops = 0;
  #passes = 0;

  /** Whether the training is in a pass, reduces gradients, or is in its optimizer. */
  get isRunning(): boolean {
    return this.#pass !== undefined || this.#isOpen;
  }

  run<T>(pass: Pass, compute: () => T): T {
    // A forward pass within a backward pass belongs to it.
    if (this.#pass) return compute();
    this.#pass = pass;
    if (pass === 'forward') {
      this.#forwardFlops = 0;
      this.#isReducing = false;
    }
    try {
      return compute();
    } finally {
      this.#pass = undefined;
      this.#isOpen = this.#isReducing;
      if (pass === 'backward') {
        this.#flops += this.#forwardFlops;
        this.#forwardFlops = 0;
        this.#passes++;
      }
    }
  }

  /** A hook was called in a step. Until the end of the pass or of the step, work is that of the training. */
  hook(): void {
    this.#isOpen = true;
    this.#lastHook = performance.now();
  }

  /** A gradient is final. Until the end of the step, work is that of the training. */
  ready(): void {
    this.#isReducing = true;
    this.hook();
  }

  endStep(): void {
    this.hook();
    this.#isOpen = this.#isReducing = false;
  }

  /** Whether a replay that has just ended, and began at `start`, was one of the training. */
  endReplay(start: number): boolean {
    const isOwn = start <= this.#lastHook;
    if (isOwn) this.#isOpen = this.#isReducing;
    return isOwn;
  }

  /** Counts operations in passes. */
  count(flops: number): void {
    if (this.#pass === 'forward') this.#forwardFlops += flops;
    else if (this.#pass) this.#flops += flops;
  }

  /** The operations in passes since the last call. */
  takeFlops(): number {
    const flops = this.#flops;
    this.#flops = 0;
    return flops;
  }

  /** The backward passes since the last call. */
  takePasses(): number {
    const passes = this.#passes;
    this.#passes = 0;
    return passes;
  }
}
