export { endByUncaught } from '@acc/platform/uncaught';
