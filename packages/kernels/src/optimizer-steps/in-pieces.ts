import { activeAcc } from '#platform/active-acc';
import type { Update } from './slots.js';

/** Variables that an optimizer updates together. Their values are needed between the two calls. */
export interface UpdatePiece {
  /** The names of the variables. */
  readonly names: ReadonlySet<string>;
  /** Called before the piece is updated. It brings the variables and their state into memory. */
  readonly enter: () => void;
  /** Called after the piece was updated. */
  readonly leave: () => void;
}

/** Whether the active backend updates piece by piece. */
export function canUpdateInPieces(): boolean {
  return activeAcc() !== undefined;
}

let active: readonly UpdatePiece[] | undefined;

/**
 * Runs `fn`, in which an optimizer updates variables piece by piece, in this order, after those in
 * no piece. The result is the same, bit for bit, and the step counts once. Classes of
 * users, and updates in tfjs's debug mode or on other backends, update all variables at once and
 * call neither `enter` nor `leave`.
 */
export function updateInPieces(pieces: readonly UpdatePiece[], fn: () => void): void {
  const before = active;
  active = pieces;
  try {
    fn();
  } finally {
    active = before;
  }
}

/** Undefined outside of {@link updateInPieces}. */
export function activePieces(): readonly UpdatePiece[] | undefined {
  return active;
}

/** Runs `update` for the variables in no piece, then for each piece. Outside of pieces: for all. */
export function inPieces(updates: readonly Update[], update: (some: readonly Update[]) => void): void {
  const pieces = active ?? [];
  const names = new Set(pieces.flatMap((piece) => [...piece.names]));
  update(updates.filter(({ variable }) => !names.has(variable.name)));
  for (const piece of pieces) {
    piece.enter();
    update(updates.filter(({ variable }) => piece.names.has(variable.name)));
    piece.leave();
  }
}
