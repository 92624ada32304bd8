/** Loads what every training needs, and nothing else, in the ordinary way. */
import { createRequire } from 'node:module';
import { numThreads } from '@acc/native';

createRequire(import.meta.url)('@tensorflow/tfjs');
numThreads();
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ reachedAt: Date.now(), processorMs: (user + system) / 1000 }));
