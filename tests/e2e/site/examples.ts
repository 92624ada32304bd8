import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './site.js';

/** A fenced example of a page of the site. */
export interface Example {
  /** The page and the number of the example on it, from 1: `guide/data#2`. */
  readonly name: string;
  readonly code: string;
}

/** All fenced `ts` examples of `site/docs`, in the order of the pages. */
export function siteExamples(): Example[] {
  const folder = join(root, 'site', 'docs');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .sort()
    .flatMap((path) => {
      const fences = readFileSync(join(folder, path), 'utf8').matchAll(/^```ts\n(.*?)^```/gms);
      const page = path.replace(/\.md$/, '');
      return Array.from(fences, ([, code], i) => ({ name: `${page}#${i + 1}`, code: code! }));
    });
}

/** The names that examples use without declaring them, as in `tests/architecture/rules`. */
export const GLOBALS = `
import * as tf from '@tensorflow/tfjs';
const WIDTH = 100;
const ROWS = 128;
const images = tf.randomUniform([ROWS, WIDTH], 0, 1, 'float32', 1);
const labels = tf.oneHot(tf.range(0, ROWS, 1, 'int32').mod(tf.scalar(WIDTH, 'int32')), WIDTH).toFloat();
const createModel = () => tf.sequential({ layers: [tf.layers.dense({
  units: WIDTH, inputShape: [WIDTH], activation: 'softmax', name: 'classifier',
  kernelInitializer: tf.initializers.glorotUniform({ seed: 3 }),
})] });
const createData = () =>
  tf.data.zip({ xs: tf.data.array(tf.unstack(images)), ys: tf.data.array(tf.unstack(labels)) }).batch(8);
`;

/** Readers copy whole pages to learn from, and the first program of a guide. */
const isWhole = ({ name, code }: Example): boolean =>
  /^(start|learn\/.*|guide\/[\w-]+#1$)/.test(name) || code.includes("import * as tf from '@tensorflow/tfjs'");

/**
 * The example as a module, with the names that it does not declare, unless it is to be whole. It
 * exports the weights of the model that it trains, if any.
 */
export function moduleOf(example: Example): string {
  const { code } = example;
  const own = isWhole(example) ? '' : GLOBALS;
  const trained = /^const \[?model\b/m.test(code) ? 'model' : undefined;
  const told = trained ? `${trained}.getWeights()[0].abs().sum().dataSync()[0]` : 'undefined';
  return `${own}\n${code}\nexport const sumOfWeights = ${told};\n`;
}

/** The example of this name. */
export function siteExample(name: string): Example {
  const found = siteExamples().find((one) => one.name === name);
  if (!found) throw new Error(`The site has no example ${name}.`);
  return found;
}

/** Examples that cannot run in one job with the others. `examples-apart.test.ts` runs them. */
export const APART = [
  'guide/federated#1',
  'guide/federated#2',
  'guide/launch#1',
  'write/kernel#1',
  'write/kernel#2',
  'write/tracker#1',
];
