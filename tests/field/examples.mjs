// The programs of tfjs-examples that train in Node, with the lines that are added to each, sorted
// by name.
import { firstExamples } from './first-examples.mjs';
import { lastExamples } from './last-examples.mjs';

export const examples = [...firstExamples, ...lastExamples];
