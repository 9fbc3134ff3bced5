// A table of rows: its columns as a list, each with what a row shows in it.
import type { ReactNode } from "react";

import { classes } from "./classes";
import styles from "./Table.module.css";

export interface Column<Row> {
  key: string;
  label: ReactNode;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
  /** Left out on a narrow screen. */
  isMinor?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  isFaint?: (row: Row) => boolean;
}

export function Table<Row>({ label, columns, rows, rowKey, isFaint }: TableProps<Row>) {
  const looks = (column: Column<Row>) =>
    classes(column.isNumber && styles.number, column.isMinor && styles.minor);
  return (
    <div className={styles.frame} role="region" aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" className={looks(column)}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className={classes(isFaint?.(row) && styles.faint)}>
              {columns.map((column) => (
                <td key={column.key} className={looks(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
