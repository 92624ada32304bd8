import { provideTfjsNode } from './e2e/tfjs-node/project.js';

/** Runs before tests that load tfjs-node. At first it takes a minute, and then no time. */
export default provideTfjsNode;
