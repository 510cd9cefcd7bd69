//! Write amplification by theory: closed forms and mean-field equations, computed here.
//!
//! All formulas are for endless uniform random writes of single pages on a device whose logical
//! pages all hold data. `alpha` is physical over logical pages, reserve and open blocks deducted.
//! Sources: Xiang, Kurkoski, "An improved analytic expression for write amplification in NAND
//! flash" (arXiv 1110.4245); Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012);
//! Van Houdt, "A mean field model for a class of garbage collection algorithms" (SIGMETRICS 2013).

#![allow(dead_code, reason = "each test uses what it needs")]

/// The branch of Lambert's W that is at least -1: w with w e^w = x, by Halley's iteration.
pub(crate) fn lambert_w(x: f64) -> f64 {
    assert!(x >= -(-1.0_f64).exp(), "W is real from -1/e on");
    let mut w =
        if x < 0.0 { -1.0 + (2.0 * (1.0 + x * 1.0_f64.exp())).max(0.0).sqrt() } else { 0.5 };
    for _ in 0..100 {
        let (exponential, miss) = (w.exp(), w * w.exp() - x);
        let step = miss
            / (exponential * (w + 1.0) - (w + 2.0) * miss / (2.0 * w + 2.0).max(f64::MIN_POSITIVE));
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

/// FIFO, and greedy with blocks without end.
pub(crate) fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

/// Greedy with `b` pages a block (Desnoyers).
pub(crate) fn greedy(alpha: f64, b: f64) -> f64 {
    let c = 1.0 + 1.0 / (2.0 * b);
    let x = c * alpha;
    let valid = 0.5 - b / alpha * lambert_w(-x * (-x).exp());
    b / (b - (valid - 1.0))
}

/// The least valid of `d` blocks drawn at random, `b` pages a block: the stationary point of Van
/// Houdt's mean-field equations.
///
/// With `x_k` the share of blocks that have at least k valid pages, their sums from below are
/// `S k (x_k - x_{k+1}) / (b rho) = 1 - x_k^d`, where S, the pages of the host between two
/// collections, is fixed by the mean: the x_k add up to `b rho`.
pub(crate) fn choices(alpha: f64, b: u32, d: f64) -> f64 {
    let pages = f64::from(b) / alpha;
    let valid = |host: f64| -> f64 {
        let mut above = 0.0;
        let mut sum = 0.0;
        for k in (1..=b).rev() {
            let rate = host * f64::from(k) / pages;
            above = bisect(above, 1.0, |x| rate * (x - above) - (1.0 - x.powf(d)));
            sum += above;
        }
        sum
    };
    // More pages of the host between two collections leave fewer valid ones.
    let host = bisect(1e-9, f64::from(b), |host| pages - valid(host));
    f64::from(b) / host
}

/// Classes in pools of their own, with shares of the space and of the writes and the optimal
/// distribution of the over-provisioning. Returns the amplification, and the share of the
/// over-provisioning of the first of two classes.
pub(crate) fn separated(
    alpha: f64,
    classes: &[(f64, f64); 2],
    law: &dyn Fn(f64) -> f64,
) -> (f64, f64) {
    let total = |share: f64| -> f64 {
        let shares = [share, 1.0 - share];
        let class = |(&(size, rate), share): (&(f64, f64), f64)| {
            rate * law(1.0 + share * (alpha - 1.0) / size)
        };
        classes.iter().zip(shares).map(class).sum()
    };
    let (mut low, mut high) = (0.05, 0.95);
    for _ in 0..40 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if total(left) < total(right) { high = right } else { low = left }
    }
    (total(low), low)
}

/// Greedy by the same equations, with so many choices that the best block is always among them.
pub(crate) fn mean_field_greedy(alpha: f64, b: u32) -> f64 {
    choices(alpha, b, 1e6)
}

/// Where the rising `f` is zero.
fn bisect(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// One FIFO log under classes of pages: shares of the space and of the writes. The age `h` at which
/// a page is looked at, in overwrites of the whole space, makes the log as long as the part.
pub(crate) fn fifo_classes(alpha: f64, classes: &[(f64, f64)]) -> f64 {
    let length = |h: f64| -> f64 {
        let class = |&(size, rate): &(f64, f64)| rate * h / (1.0 - (-rate * h / size).exp());
        classes.iter().map(class).sum()
    };
    alpha / bisect(1e-6, 1e3, |h| length(h) - alpha)
}

#[test]
fn theory_gives_the_published_anchor_and_the_table() {
    // Xiang and Kurkoski, abstract: over-provisioning 0.3, 2.36.
    assert!((fifo(1.3) - 2.364).abs() < 5e-4);
    let alpha = |spare: f64| 1.0 / (1.0 - spare);
    for (spare, expected) in [(0.02, 25.169), (0.07, 7.318), (0.25, 2.201)] {
        assert!((fifo(alpha(spare)) - expected).abs() < 5e-4, "fifo at {spare}");
    }
    for (spare, b, expected) in [(0.07, 64.0, 6.600), (0.05, 256.0, 9.796), (0.28, 32.0, 1.896)] {
        assert!((greedy(alpha(spare), b) - expected).abs() < 1e-3, "greedy at {spare}, {b}");
    }
    for (spare, d, expected) in [(0.05, 2.0, 13.266), (0.10, 10.0, 5.000), (0.20, 3.0, 3.113)] {
        let found = choices(alpha(spare), 64, d);
        assert!((found - expected).abs() < 1e-3, "{d} choices at {spare}: {found}");
    }
    // One choice is any block, and many choices are greedy.
    assert!((choices(alpha(0.07), 64, 1.0) - 1.0 / 0.07).abs() < 1e-3);
    assert!((choices(alpha(0.10), 64, 1_000.0) / greedy(alpha(0.10), 64.0) - 1.0).abs() < 3e-3);
    let (apart, share) = separated(alpha(0.10), &[(0.1, 0.9), (0.9, 0.1)], &fifo);
    assert!((apart - 2.336).abs() < 1e-3 && (share - 0.494).abs() < 2e-3, "{apart} {share}");
    let hot = fifo_classes(alpha(0.10), &[(0.2, 0.8), (0.8, 0.2)]);
    assert!((hot - 5.538).abs() < 1e-3, "one log, 80 to 20: {hot}");
}
