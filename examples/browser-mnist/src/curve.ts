/** Weight of a new value in the smoothed curve. */
const SMOOTHING = 0.15;
const MARGIN = { left: 40, right: 12, top: 10, bottom: 24 };

/** The loss at each step, drawn on a canvas: every value faintly, and a smoothed line. */
export class LossCurve {
  readonly #canvas: HTMLCanvasElement;
  readonly #values: number[] = [];
  #steps: number;

  /** @param steps The number of steps of the whole training. */
  constructor(canvas: HTMLCanvasElement, steps: number) {
    this.#canvas = canvas;
    this.#steps = steps;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** Removes all values. */
  restart(steps: number): void {
    this.#values.length = 0;
    this.#steps = steps;
  }

  add(value: number): void {
    this.#values.push(value);
    this.draw();
  }

  draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = devicePixelRatio;
    this.#canvas.width = width * scale;
    this.#canvas.height = height * scale;
    const context = this.#canvas.getContext('2d')!;
    context.scale(scale, scale);
    const most = Math.max(2.5, ...this.#values);
    const x = (step: number) =>
      MARGIN.left + (step / Math.max(this.#steps - 1, 1)) * (width - MARGIN.left - MARGIN.right);
    const y = (value: number) =>
      height - MARGIN.bottom - (value / most) * (height - MARGIN.top - MARGIN.bottom);
    this.#drawAxes(context, { x, y, most, width });
    this.#drawLine(context, this.#values, { x, y }, { alpha: 0.45, width: 1 });
    this.#drawLine(context, smoothed(this.#values), { x, y }, { alpha: 1, width: 2 });
  }

  #drawAxes(
    context: CanvasRenderingContext2D,
    { x, y, most, width }: { x: Scale; y: Scale; most: number; width: number },
  ): void {
    const style = getComputedStyle(document.documentElement);
    context.font = `12px ${style.fontFamily}`;
    context.textAlign = 'right';
    for (let value = 0; value <= most; value += 0.5) {
      context.fillStyle = style.getPropertyValue('--line');
      context.fillRect(MARGIN.left, Math.round(y(value)), width - MARGIN.left - MARGIN.right, 1);
      context.fillStyle = style.getPropertyValue('--faint');
      context.fillText(value.toFixed(1), MARGIN.left - 8, y(value) + 4);
    }
    context.textAlign = 'left';
    context.fillText('step', MARGIN.left, y(0) + 18);
    context.textAlign = 'center';
    const apart = roundStep(this.#steps / 5);
    for (let step = apart; step < this.#steps; step += apart)
      context.fillText(String(step), x(step), y(0) + 18);
  }

  #drawLine(
    context: CanvasRenderingContext2D,
    values: readonly number[],
    { x, y }: { x: Scale; y: Scale },
    { alpha, width }: { alpha: number; width: number },
  ): void {
    context.beginPath();
    values.forEach((value, step) => context.lineTo(x(step), y(value)));
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.lineJoin = 'round';
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent');
    context.stroke();
    context.globalAlpha = 1;
  }
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least)!;
}

type Scale = (value: number) => number;

function smoothed(values: readonly number[]): number[] {
  let last = values[0]!;
  // The first values have little before them, so each weighs more.
  return values.map((value, i) => (last += Math.max(SMOOTHING, 1 / (i + 1)) * (value - last)));
}
