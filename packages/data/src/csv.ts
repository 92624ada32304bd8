export * from '@acc/formats/csv';
