export * from '@acc/formats/arrow';
