//! Ways to distribute a multiset among variables.
//!
//! Rows are variables (and the extension), columns the distinct elements with their
//! multiplicities. A solution is a matrix of naturals with `sum_r coefficient_r * m[r][c]`
//! equal to the multiplicity of column `c`, each row sum within the row's bounds. Solutions
//! come in Maude's order: rows by coefficient descending, then by upper bound ascending; the
//! first row varies slowest; a row's size ascends, and among selections of one size the
//! earliest columns are filled first and the last column varies slowest.

/// One variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub coefficient: u32,
    pub min: u64,
    /// `u64::MAX` if there is no bound.
    pub max: u64,
    /// What the caller calls it.
    pub name: u32,
}

#[derive(Debug, Default)]
pub(super) struct Diophantine {
    rows: Vec<Row>,
    columns: Vec<u32>,
    /// `amounts[r * columns + c]`.
    amounts: Vec<u32>,
    /// What rows before `r` left of each column: `left[r * columns + c]`.
    left: Vec<u32>,
    /// May row `r` take from column `c`?
    allowed: Vec<bool>,
    /// The least and the greatest amount of a column in the present selections of a row.
    low: Vec<u32>,
    high: Vec<u32>,
    sizes: Vec<u64>,
    sizes_max: Vec<u64>,
    /// Sums over the rows from `r` on of coefficient times min and max.
    min_products: Vec<u64>,
    max_products: Vec<u64>,
    /// Can the rows from `r` on make up the amount `a` in column `c`? With coefficients of 1
    /// only: `solvable[r * columns + c]` says whether there is a row for any amount. Otherwise
    /// `solvable[r * table + starts[c] + a]`.
    solvable: Vec<bool>,
    starts: Vec<usize>,
    is_plain: bool,
}

impl Diophantine {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
    }

    pub fn add_row(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub fn add_column(&mut self, multiplicity: u32) {
        self.columns.push(multiplicity);
    }

    /// Rows with their amounts in each column, of the present solution.
    pub fn solution(&self) -> impl Iterator<Item = (Row, &[u32])> {
        let n = self.columns.len();
        self.rows.iter().enumerate().map(move |(r, &row)| (row, &self.amounts[r * n..(r + 1) * n]))
    }

    /// The first solution. `allowed(name, c)` says whether a row may take from column `c`.
    pub fn first(&mut self, allowed: impl Fn(u32, usize) -> bool) -> bool {
        let total: u64 = self.columns.iter().map(|&m| u64::from(m)).sum();
        for row in &mut self.rows {
            row.max = row.max.min(total);
        }
        self.rows.sort_by(|a, b| b.coefficient.cmp(&a.coefficient).then(a.max.cmp(&b.max)));
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let reset = |v: &mut Vec<u32>, n: usize| {
            v.clear();
            v.resize(n, 0);
        };
        reset(&mut self.amounts, rows * columns);
        reset(&mut self.left, (rows + 1) * columns);
        reset(&mut self.low, rows * columns);
        reset(&mut self.high, rows * columns);
        self.left[..columns].copy_from_slice(&self.columns);
        for sizes in [&mut self.sizes, &mut self.sizes_max, &mut self.min_products, &mut self.max_products] {
            sizes.clear();
            sizes.resize(rows + 1, 0);
        }
        self.allowed.clear();
        for row in &self.rows {
            self.allowed.extend((0..columns).map(|c| allowed(row.name, c)));
        }
        for r in (0..rows).rev() {
            let row = self.rows[r];
            let coefficient = u64::from(row.coefficient);
            self.min_products[r] = self.min_products[r + 1] + row.min * coefficient;
            self.max_products[r] = self.max_products[r + 1].saturating_add(row.max * coefficient);
        }
        self.tabulate();
        (0..columns).all(|c| self.is_solvable(0, c, self.columns[c])) && self.search(0, true)
    }

    fn tabulate(&mut self) {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        self.is_plain = self.rows.iter().all(|row| row.coefficient == 1);
        self.starts.clear();
        self.solvable.clear();
        if self.is_plain {
            self.solvable.resize((rows + 1) * columns, false);
            for r in (0..rows).rev() {
                for c in 0..columns {
                    self.solvable[r * columns + c] =
                        self.solvable[(r + 1) * columns + c] || self.allowed[r * columns + c];
                }
            }
            return;
        }
        let mut table = 0;
        for &m in &self.columns {
            self.starts.push(table);
            table += m as usize + 1;
        }
        self.starts.push(table);
        self.solvable.resize((rows + 1) * table, false);
        for c in 0..columns {
            self.solvable[rows * table + self.starts[c]] = true;
        }
        for r in (0..rows).rev() {
            let coefficient = self.rows[r].coefficient as usize;
            for c in 0..columns {
                for amount in 0..=self.columns[c] as usize {
                    let at = r * table + self.starts[c] + amount;
                    self.solvable[at] = self.solvable[at + table]
                        || self.allowed[r * columns + c]
                            && amount >= coefficient
                            && self.solvable[at - coefficient];
                }
            }
        }
    }

    /// Can the rows from `r` on make up this amount in column `c`?
    #[inline]
    fn is_solvable(&self, r: usize, c: usize, amount: u32) -> bool {
        if self.is_plain {
            return amount == 0 || self.solvable[r * self.columns.len() + c];
        }
        let table = self.starts[self.columns.len()];
        self.solvable[r * table + self.starts[c] + amount as usize]
    }

    pub fn next(&mut self) -> bool {
        !self.rows.is_empty() && self.search(self.rows.len() - 1, false)
    }

    /// Goes on at row `r`: with its first selection (`fresh`), or the one after the present.
    fn search(&mut self, mut r: usize, mut fresh: bool) -> bool {
        if self.rows.is_empty() {
            return self.columns.iter().all(|&m| m == 0);
        }
        loop {
            let found = if fresh { self.open(r) } else { self.advance(r) };
            match (found, r) {
                (true, _) if r + 1 == self.rows.len() => return true,
                (true, _) => (r, fresh) = (r + 1, true),
                (false, 0) => return false,
                (false, _) => (r, fresh) = (r - 1, false),
            }
        }
    }

    /// The first selection of row `r`.
    fn open(&mut self, r: usize) -> bool {
        let n = self.columns.len();
        let row = self.rows[r];
        let coefficient = u64::from(row.coefficient);
        let is_last = r + 1 == self.rows.len();
        let (mut total, mut least, mut most) = (0u64, 0u64, 0u64);
        for c in 0..n {
            let at = r * n + c;
            let left = self.left[at];
            let high = if self.allowed[at] { left / row.coefficient } else { 0 };
            // What no later row can take is taken now.
            let must = is_last || self.is_plain && !self.solvable[(r + 1) * n + c];
            if must && high * row.coefficient != left {
                return false;
            }
            self.high[at] = high;
            self.low[at] = if must { high } else { 0 };
            total += u64::from(left);
            least += u64::from(self.low[at]);
            most += u64::from(high);
        }
        if is_last {
            if most < row.min || most > row.max {
                return false;
            }
            self.amounts[r * n..(r + 1) * n].copy_from_slice(&self.high[r * n..(r + 1) * n]);
            return true;
        }
        let need = total.saturating_sub(self.max_products[r + 1]).div_ceil(coefficient);
        let spare = match total.checked_sub(self.min_products[r + 1]) {
            Some(spare) => spare / coefficient,
            None => return false,
        };
        self.sizes[r] = row.min.max(need).max(least);
        self.sizes_max[r] = most.min(row.max).min(spare);
        if self.sizes[r] > self.sizes_max[r] {
            return false;
        }
        self.fill(r, n, self.sizes[r]);
        self.settle(r) || self.advance(r)
    }

    /// The next selection of row `r` that later rows can complete.
    fn advance(&mut self, r: usize) -> bool {
        if r + 1 == self.rows.len() {
            return false;
        }
        let n = self.columns.len();
        loop {
            if !self.step(r) {
                if self.sizes[r] >= self.sizes_max[r] {
                    return false;
                }
                self.sizes[r] += 1;
                self.fill(r, n, self.sizes[r]);
            }
            if self.settle(r) {
                return true;
            }
        }
    }

    /// Puts `size` units into the first `columns` columns, earliest first.
    fn fill(&mut self, r: usize, columns: usize, size: u64) {
        let n = self.columns.len();
        let range = r * n..r * n + columns;
        let least: u64 = self.low[range.clone()].iter().map(|&low| u64::from(low)).sum();
        let mut size = size - least;
        for at in range {
            let more = u64::from(self.high[at] - self.low[at]).min(size);
            self.amounts[at] = self.low[at] + more as u32;
            size -= more;
        }
        debug_assert_eq!(size, 0);
    }

    /// The next selection of the same size: one unit moves to the first column that can take
    /// one from those before it, which are then filled from the start.
    fn step(&mut self, r: usize) -> bool {
        let n = self.columns.len();
        // Units before this column, and how many of them can move.
        let (mut before, mut movable) = (0u64, 0u64);
        for c in 0..n {
            let at = r * n + c;
            let amount = self.amounts[at];
            if movable > 0 && amount < self.high[at] {
                self.amounts[at] = amount + 1;
                self.fill(r, c, before - 1);
                return true;
            }
            before += u64::from(amount);
            movable += u64::from(amount - self.low[at]);
        }
        false
    }

    /// Computes what row `r` leaves; `false` if later rows cannot make up some column.
    fn settle(&mut self, r: usize) -> bool {
        let n = self.columns.len();
        let coefficient = self.rows[r].coefficient;
        for c in 0..n {
            let rest = self.left[r * n + c] - coefficient * self.amounts[r * n + c];
            if !self.is_solvable(r + 1, c, rest) {
                return false;
            }
            self.left[(r + 1) * n + c] = rest;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[(u32, u64, u64)], columns: &[u32], expected: &[&[&[u32]]]) {
        let mut system = Diophantine::default();
        for (name, &(coefficient, min, max)) in rows.iter().enumerate() {
            system.add_row(Row { coefficient, min, max, name: name as u32 });
        }
        columns.iter().for_each(|&c| system.add_column(c));
        let mut found = Vec::new();
        let mut more = system.first(|_, _| true);
        while more {
            found.push(system.solution().map(|(_, row)| row.to_vec()).collect::<Vec<_>>());
            more = system.next();
        }
        assert_eq!(
            found,
            expected.iter().map(|m| m.iter().map(|r| r.to_vec()).collect()).collect::<Vec<Vec<_>>>()
        );
    }

    #[test]
    fn smaller_sizes_and_earlier_columns_first() {
        check(
            &[(1, 1, u64::MAX), (1, 1, u64::MAX)],
            &[1, 1, 1],
            &[
                &[&[1, 0, 0], &[0, 1, 1]],
                &[&[0, 1, 0], &[1, 0, 1]],
                &[&[0, 0, 1], &[1, 1, 0]],
                &[&[1, 1, 0], &[0, 0, 1]],
                &[&[1, 0, 1], &[0, 1, 0]],
                &[&[0, 1, 1], &[1, 0, 0]],
            ],
        );
    }

    #[test]
    fn coefficients_and_bounds() {
        check(&[(1, 0, u64::MAX), (2, 1, u64::MAX)], &[3], &[&[&[1], &[1]]]);
        check(&[(2, 0, 5)], &[3], &[]);
        check(&[], &[], &[&[]]);
    }

    /// What only the first row may take, it takes at once.
    #[test]
    fn forbidden_cells() {
        let mut system = Diophantine::default();
        system.add_row(Row { coefficient: 1, min: 0, max: 30, name: 0 });
        system.add_row(Row { coefficient: 1, min: 1, max: u64::MAX, name: 1 });
        (0..40).for_each(|_| system.add_column(1));
        assert!(system.first(|name, c| name == 0 || c >= 20));
        let sizes: Vec<u32> = system.solution().map(|(_, row)| row.iter().sum()).collect();
        assert_eq!(sizes, [20, 20]);
    }

    /// All matrices by brute force have the right count.
    #[test]
    fn complete() {
        let mut system = Diophantine::default();
        system.add_row(Row { coefficient: 2, min: 0, max: 2, name: 0 });
        system.add_row(Row { coefficient: 1, min: 1, max: 3, name: 1 });
        system.add_row(Row { coefficient: 1, min: 0, max: u64::MAX, name: 2 });
        let columns = [2u32, 3, 1];
        columns.iter().for_each(|&c| system.add_column(c));
        let mut count = 0;
        let mut more = system.first(|_, _| true);
        while more {
            count += 1;
            more = system.next();
        }
        let mut expected = 0;
        let split = |m: u32| (0..=m / 2).flat_map(move |a| (0..=m - 2 * a).map(move |b| (a, b)));
        for x in split(columns[0]) {
            for y in split(columns[1]) {
                for z in split(columns[2]) {
                    let (a, b) = (x.0 + y.0 + z.0, x.1 + y.1 + z.1);
                    expected += u32::from(a <= 2 && (1..=3).contains(&b));
                }
            }
        }
        assert_eq!(count, expected);
    }
}
