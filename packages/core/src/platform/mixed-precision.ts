export { amp } from '@acc/amp';
