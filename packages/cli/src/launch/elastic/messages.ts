/** From the coordinator to an agent. */
export type ToAgent =
  | { readonly kind: 'challenge'; readonly nonce: string }
  | { readonly kind: 'welcome'; readonly proof: string }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | Round
  | Stop
  | End;

/** Start the ranks of a round. */
export interface Round {
  readonly kind: 'round';
  /** How many rounds there were before. */
  readonly restart: number;
  /** How many of them ended because of a failure, and how many such failures the job survives. */
  readonly failures: number;
  readonly maxRestarts: number;
  readonly nodeRank: number;
  /** The number of ranks of each host, by node rank. */
  readonly sizes: readonly number[];
  /** The port of rank 0 on the first host. */
  readonly port: number;
}

/** End the ranks of the round. */
export interface Stop {
  readonly kind: 'stop';
  /** Whether ranks are asked to save a checkpoint first. They cannot if a rank is lost. */
  readonly isSaving: boolean;
}

/** The job has ended. */
export interface End {
  readonly kind: 'end';
  readonly exitCode: number;
  readonly reason: string;
}

/** From an agent to the coordinator. */
export type ToCoordinator = Hello | Result;

export interface Hello {
  readonly kind: 'hello';
  readonly proof: string;
  readonly nonce: string;
  /** Distinguishes the agent from an earlier one on its host. */
  readonly id: string;
  readonly host: string;
  readonly nproc: number;
  readonly minNodes: number;
  readonly maxNodes: number;
  readonly hostTimeoutMs: number;
}

/** How the ranks of an agent ended. */
export interface Result {
  readonly kind: 'result';
  readonly restart: number;
  /** `left`: somebody asked this host to end. It takes part in no further round. */
  readonly outcome: 'completed' | 'failed' | 'stopped' | 'left';
  readonly exitCode: number;
}
