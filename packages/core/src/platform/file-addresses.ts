export { registerFileAddresses } from '@acc/checkpoint';
