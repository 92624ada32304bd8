import { randomNumbers } from '../random.js';
import { CartPole, type State } from './cart-pole.js';

export interface Move {
  readonly state: State;
  readonly isToTheRight: boolean;
  /** The rewards from this move on, each worth `discount` of the one before it. */
  readonly returned: number;
}

/** The probabilities of a push to the right in some states. */
export type Policy = (states: readonly State[]) => ArrayLike<number>;

/**
 * Plays episodes side by side. An episode is decided by its seed and by the policy alone, wherever
 * it is played.
 *
 * @returns The moves of each episode.
 */
export function play(seeds: readonly number[], policy: Policy, discount = 0.99): Move[][] {
  const games = seeds.map((seed) => {
    const random = randomNumbers(seed);
    return { game: new CartPole(random), random, moves: [] as Omit<Move, 'returned'>[] };
  });
  for (;;) {
    const open = games.filter(({ game }) => !game.isOver);
    if (open.length === 0) break;
    const chances = policy(open.map(({ game }) => game.state));
    open.forEach(({ game, random, moves }, i) => {
      const isToTheRight = random() < chances[i]!;
      moves.push({ state: game.state, isToTheRight });
      game.push(isToTheRight);
    });
  }
  return games.map(({ moves }) => withReturns(moves, discount));
}

function withReturns(moves: readonly Omit<Move, 'returned'>[], discount: number): Move[] {
  let returned = 0;
  return moves
    .toReversed()
    .map((move) => ({ ...move, returned: (returned = 1 + discount * returned) }))
    .reverse();
}
