import {
  concat,
  fused,
  mul,
  reshape,
  split,
  tidy,
  unstack,
  type Tensor,
  type Tensor2D,
} from '@tensorflow/tfjs-core';
import { initializers, layers, type Shape } from '@tensorflow/tfjs-layers';
import { localPartOf, markCut, type LocalPart } from '@acc/contract';
import { ACTIVATIONS, silu, type ActivationName } from '../layers/activations.js';
import { normal } from '../layers/initializer.js';
import type { LayerArgs } from '../layers/layer-args.js';
import { widthOf } from '../layers/shapes.js';

type Weight = ReturnType<InstanceType<typeof layers.Layer>['addWeight']>;

export interface ExpertsSettings {
  readonly experts: number;
  readonly mlp: 'gelu' | 'swiGlu';
  readonly activation: ActivationName;
  readonly innerUnits: number;
  readonly useBias: boolean;
  readonly initializerRange?: number | undefined;
  readonly outputInitializerRange?: number | undefined;
}

/** A matrix of each expert, and perhaps a bias: `[experts, in, out]`, `[experts, out]`. */
interface Projection {
  readonly kernel: Weight;
  readonly bias: Weight | undefined;
}

/**
 * The weights of all experts, each in one tensor whose dim 0 is the expert. A mesh with the axis
 * `expert` cuts them there. Internal: a part of `moe`.
 */
export class Experts extends layers.Layer {
  static className = 'Experts';
  readonly #settings: ExpertsSettings;
  readonly #projections: Projection[] = [];

  constructor(args: LayerArgs, settings: ExpertsSettings) {
    super(args);
    this.#settings = settings;
  }

  override build(inputShape: Shape | Shape[]): void {
    const width = widthOf(inputShape);
    const { mlp, innerUnits, initializerRange, outputInitializerRange = initializerRange } = this.#settings;
    const [into, back] = mlp === 'swiGlu' ? [['gate_proj', 'up_proj'], 'down_proj'] : [['c_fc'], 'c_proj'];
    for (const role of into) this.#addProjection(role, [width, innerUnits], initializerRange);
    this.#addProjection(back, [innerUnits, width], outputInitializerRange);
    super.build(inputShape);
  }

  /** The part of the weights that this rank has. Undefined: all. */
  get held(): LocalPart | undefined {
    return localPartOf(this.#projections[0]!.kernel.read());
  }

  /**
   * The outputs of experts: `[rows, width]` for rows that are sorted by expert.
   *
   * @param counts The rows of each expert that this rank has.
   */
  run(rows: Tensor2D, counts: readonly number[]): Tensor2D {
    return tidy(() => {
      const withRows = counts.flatMap((count, expert) => (count > 0 ? [expert] : []));
      // A rank without rows computes one product of none, so that its backward pass has the same steps.
      const used = withRows.length > 0 ? withRows : [0];
      // tfjs has no gradient of a split into one piece.
      const inputs =
        used.length > 1
          ? split(
              rows,
              used.map((expert) => counts[expert]!),
            )
          : [rows];
      const parts = this.#projections.map(({ kernel, bias }) => ({
        kernels: ofExperts(kernel, counts.length),
        biases: bias && ofExperts(bias, counts.length),
      }));
      const outputs = inputs.map((x, i) => {
        const expert = used[i]!;
        const project = (input: Tensor, place: number) => {
          const { kernels, biases } = parts[place]!;
          const bias = biases && { bias: biases[expert]! };
          return fused.matMul({ a: input, b: kernels[expert]!, ...bias });
        };
        return project(this.#activated(x, project), parts.length - 1) as Tensor2D;
      });
      return outputs.length === 1 ? outputs[0]! : concat(outputs);
    });
  }

  #activated(x: Tensor, project: (x: Tensor, place: number) => Tensor): Tensor {
    const { mlp, activation } = this.#settings;
    if (mlp === 'swiGlu') return mul(silu(project(x, 0)), project(x, 1));
    return ACTIVATIONS[activation](project(x, 0));
  }

  #addProjection(role: string, [from, to]: readonly [number, number], range: number | undefined): void {
    const { experts, useBias } = this.#settings;
    // Each expert begins as a dense layer does (Glorot and Bengio 2010).
    const limit = Math.sqrt(6 / (from + to));
    const initializer =
      range === undefined ? initializers.randomUniform({ minval: -limit, maxval: limit }) : normal(range);
    const add = (name: string, shape: number[], first: typeof initializer) => {
      const weight = this.addWeight(`${role}/${name}`, shape, 'float32', first);
      markCut(weight.read() as never, { dim: 0, axis: 'expert' });
      return weight;
    };
    const kernel = add('kernel', [experts, from, to], initializer);
    const bias = useBias ? add('bias', [experts, to], initializers.zeros()) : undefined;
    this.#projections.push({ kernel, bias });
  }
}

/** The slices of a weight along dim 0, of the experts that this rank has. */
function ofExperts(weight: Weight, count: number): Tensor[] {
  const variable = weight.read();
  const part = localPartOf(variable);
  const shape = variable.shape.slice(1);
  if (count === 1) return [reshape(part ? part.own : variable, shape)];
  return unstack(part ? reshape(part.own, [count, ...shape]) : variable);
}
