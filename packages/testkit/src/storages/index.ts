export { storageCases, type StorageCase } from './storage-cases.js';
