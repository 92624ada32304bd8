/** Position in m, velocity in m/s, angle from upright in rad, angular velocity in rad/s. */
export type State = readonly [position: number, velocity: number, angle: number, angularVelocity: number];

const GRAVITY = 9.8; // m/s²
const CART_MASS = 1; // kg
const POLE_MASS = 0.1; // kg
/** Half the length of the pole, in m. */
const HALF_LENGTH = 0.5;
const FORCE = 10; // N
const STEP_SECONDS = 0.02;
const FARTHEST = 2.4; // m
const STEEPEST = (12 * Math.PI) / 180;
/** An episode ends after this many steps even if the pole still stands. */
export const MAX_STEPS = 200;

/**
 * A pole that stands on a cart, which is pushed to the left or to the right in each step. The
 * equations are those of Barto, Sutton and Anderson, "Neuronlike Adaptive Elements That Can Solve
 * Difficult Learning Control Problems", 1983, without friction, integrated by Euler's method.
 */
export class CartPole {
  #state: State;
  #steps = 0;

  /** Begins near the upright position, as `random` says. */
  constructor(random: () => number) {
    const small = () => 0.1 * random() - 0.05;
    this.#state = [small(), small(), small(), small()];
  }

  get state(): State {
    return this.#state;
  }

  /** Whether the pole fell, the cart left its track, or the time is up. */
  get isOver(): boolean {
    const [position, , angle] = this.#state;
    return this.#steps >= MAX_STEPS || Math.abs(position) > FARTHEST || Math.abs(angle) > STEEPEST;
  }

  /** Pushes the cart for one step. Each step gives a reward of 1. */
  push(isToTheRight: boolean): void {
    const [position, velocity, angle, angularVelocity] = this.#state;
    const force = isToTheRight ? FORCE : -FORCE;
    const mass = CART_MASS + POLE_MASS;
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    const push = (force + POLE_MASS * HALF_LENGTH * angularVelocity ** 2 * sin) / mass;
    const angularAcceleration =
      (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - (POLE_MASS * cos ** 2) / mass));
    const acceleration = push - (POLE_MASS * HALF_LENGTH * angularAcceleration * cos) / mass;
    this.#state = [
      position + STEP_SECONDS * velocity,
      velocity + STEP_SECONDS * acceleration,
      angle + STEP_SECONDS * angularVelocity,
      angularVelocity + STEP_SECONDS * angularAcceleration,
    ];
    this.#steps++;
  }
}
