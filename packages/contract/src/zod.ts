/** zod, as the other packages import it once they are built: see `tsup.base.ts`. */
export * from 'zod';
