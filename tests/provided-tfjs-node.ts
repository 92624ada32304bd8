import { provideTfjsNode } from './e2e/tfjs-node/project.js';
import { preparedLibtorch } from './prepared.js';

/** Runs before tests that load tfjs-node. At first it takes a minute, and then no time. */
export default async function setup(): Promise<void> {
  if (preparedLibtorch === undefined) await provideTfjsNode();
}
