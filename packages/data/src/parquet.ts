export * from '@acc/formats/parquet';
