/** For Node.js. The build writes the names of the exports here: see `tsup.base.ts`. */
export * from './tfjs-backend-cpu.js';
