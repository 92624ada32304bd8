/** For Node.js. The build writes the names of the exports here: see `tsup.config.ts`. */
export * from './tfjs-core.js';
