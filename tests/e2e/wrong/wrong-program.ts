/** A wrong program, and what it must end with. */
export interface WrongProgram {
  readonly name: string;
  /** The number of ranks that `acc launch` starts. 1: Node.js runs the program alone. */
  readonly ranks: 1 | 2;
  /** The code of our error. Undefined: the error is another library's, or the program's own. */
  readonly code?: string;
  /** Parts of the message and of the next step. */
  readonly says: readonly string[];
  /** Comes after the imports. The guilty line ends with {@link GUILTY}, if it can be known. */
  readonly source: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Other files beside the program. */
  readonly files?: Readonly<Record<string, string>>;
  /** The exit code. Default 1. */
  readonly exitCode?: number;
  /** Whether only `npm run test:release` runs it: another one ends by the same kind of error. */
  readonly isLate?: boolean;
  /** Parts that must not be there. */
  readonly never?: readonly string[];
}

export const GUILTY = '// wrong';

/** The first lines of a program. */
export const IMPORTS = `import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, consoleTracker } from '@acc/core';
`;

export const CREATE = 'const accelerator = await Accelerator.create();\n';
export const MODEL = `${CREATE}const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const optimizer = tf.train.sgd(0.1);
accelerator.prepare(model, optimizer);
const loss = (x) => tf.losses.meanSquaredError(tf.zeros([4, 1]), model.apply(x));
`;
