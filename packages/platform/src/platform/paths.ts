export { basename, dirname, join, relative, resolve, sep } from 'node:path';
