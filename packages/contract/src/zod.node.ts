/** For Node.js. The build writes the contents of zod here: see `tsup.config.ts`. */
export * from 'zod';
