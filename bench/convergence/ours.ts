/** Trains one model in one precision: `acc launch bench/convergence/ours.ts job.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { numThreads } from '@acc/native';
import { versions } from '../training.js';
import { trainToTheEnd, type Training } from './train.js';

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Training & { readonly resultPath: string };
const trained = await trainToTheEnd(job);
writeFileSync(job.resultPath, JSON.stringify({ ...trained, threads: numThreads(), versions: versions() }));
