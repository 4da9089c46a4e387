//! Parses commands: clears, runs and expectations.

use super::{ObjectKind, Parser};
use crate::script::{Check, Command, Comparison, Tolerance, Topology, Work};
use crate::{Error, Result};

/// Limit on the cells of a grid and on the count of `REPEAT`.
const MAX_COUNT: u32 = 1 << 16;

impl Parser<'_> {
    pub(super) fn command(&mut self, word: &str) -> Result<Command> {
        Ok(match word {
            "CLEAR_COLOR" => {
                let pipeline = self.name(ObjectKind::Pipeline)?;
                let mut colour = [0.0; 4];
                for c in &mut colour {
                    *c = (self.words.number()?.float() / 255.0) as f32;
                }
                Command::ClearColour(pipeline, colour)
            }
            "CLEAR" => Command::Clear(self.name(ObjectKind::Pipeline)?),
            "RUN" => self.run()?,
            "EXPECT" => self.expect()?,
            "COPY" => {
                let from = self.name(ObjectKind::Buffer)?;
                self.words.expect("TO")?;
                Command::Copy(from, self.name(ObjectKind::Buffer)?)
            }
            "REPEAT" => {
                let n = self.words.read("a repeat count")?;
                if n > MAX_COUNT {
                    return Err(self.words.invalid(format!("a repeat count of {n} is too large")));
                }
                let mut inner = Vec::new();
                loop {
                    match self.words.required("`END`")? {
                        "END" => break,
                        "REPEAT" => return Err(self.words.invalid("`REPEAT` is nested")),
                        word => {
                            let line = self.words.line();
                            inner.push((line, self.command(word)?));
                        }
                    }
                }
                Command::Repeat(n, inner)
            }
            other => return Err(self.words.refused(format!("the command {other}"))),
        })
    }

    fn run(&mut self) -> Result<Command> {
        let pipeline = self.name(ObjectKind::Pipeline)?;
        let graphics = self.script.pipelines[pipeline].graphics;
        let work = match self.words.peek() {
            Some("DRAW_RECT") => {
                self.words.next();
                let ([x, y], [w, h]) = self.rectangle(pipeline)?;
                Work::Vertices(Topology::TriangleStrip, corners(x, y, w, h).to_vec())
            }
            Some("DRAW_GRID") => {
                self.words.next();
                let ([x, y], [w, h]) = self.rectangle(pipeline)?;
                self.words.expect("CELLS")?;
                let columns: u32 = self.words.read("a number of columns")?;
                let rows: u32 = self.words.read("a number of rows")?;
                if columns.checked_mul(rows).is_none_or(|n| n == 0 || n > MAX_COUNT) {
                    return Err(self.words.invalid("a grid has 1 to 65536 cells"));
                }
                Work::Vertices(Topology::TriangleList, grid([x, y], [w, h], columns, rows))
            }
            Some("DRAW_ARRAY") => {
                self.words.next();
                self.array()?
            }
            _ => Work::Groups([
                self.words.read("a number of workgroups")?,
                self.words.read("a number of workgroups")?,
                self.words.read("a number of workgroups")?,
            ]),
        };
        if graphics == matches!(work, Work::Groups(_)) {
            return Err(self
                .words
                .invalid("compute pipelines cannot draw, and graphics pipelines cannot dispatch"));
        }
        Ok(Command::Run(pipeline, work))
    }

    /// Parses a rectangle in pixels and converts its position and size to clip space.
    fn rectangle(&mut self, pipeline: usize) -> Result<([f32; 2], [f32; 2])> {
        let frame = self.script.pipelines[pipeline].size_px.map(f64::from);
        self.words.expect("POS")?;
        let at = [self.words.number()?.float(), self.words.number()?.float()];
        self.words.expect("SIZE")?;
        let size = [self.words.number()?.float(), self.words.number()?.float()];
        let scaled = |v: f64, k: usize| 2.0 * v / frame[k];
        Ok((
            [0, 1].map(|k| (scaled(at[k], k) - 1.0) as f32),
            [0, 1].map(|k| scaled(size[k], k) as f32),
        ))
    }

    fn array(&mut self) -> Result<Work> {
        self.words.expect("AS")?;
        let topology = match self.words.required("a topology")? {
            "POINT_LIST" => Topology::PointList,
            "LINE_LIST" => Topology::LineList,
            "LINE_STRIP" => Topology::LineStrip,
            "TRIANGLE_LIST" => Topology::TriangleList,
            "TRIANGLE_STRIP" => Topology::TriangleStrip,
            "TRIANGLE_FAN" => Topology::TriangleFan,
            other => return Err(self.words.refused(format!("the topology {other}"))),
        };
        let (mut first, mut count, mut instances, mut indexed) = (0, None, 1, false);
        while let Some(word) = self.words.peek() {
            self.words.next();
            match word {
                "INDEXED" => indexed = true,
                "START_IDX" => first = self.words.read("an index")?,
                "COUNT" => count = Some(self.words.read("a count")?),
                "INSTANCE_COUNT" => instances = self.words.read("a count")?,
                other => return Err(self.words.refused(format!("draws with {other}"))),
            }
        }
        let count = count.ok_or_else(|| self.words.refused("draws without `COUNT`"))?;
        Ok(Work::Array { topology, first, count, instances, indexed })
    }

    fn expect(&mut self) -> Result<Command> {
        let buffer = self.name(ObjectKind::Buffer)?;
        let check = match self.words.required("an expectation")? {
            "IDX" => self.elements(buffer)?,
            "EQ_BUFFER" => Check::Same(self.name(ObjectKind::Buffer)?),
            "RMSE_BUFFER" => {
                let other = self.name(ObjectKind::Buffer)?;
                self.words.expect("TOLERANCE")?;
                Check::MeanSquare(other, self.words.number()?.float())
            }
            "EQ_HISTOGRAM_EMD_BUFFER" => {
                let other = self.name(ObjectKind::Buffer)?;
                self.words.expect("TOLERANCE")?;
                Check::Histogram(other, self.words.number()?.float())
            }
            other => return Err(self.words.refused(format!("the expectation {other}"))),
        };
        Ok(Command::Expect(buffer, check))
    }

    fn tolerances(&mut self) -> Result<Vec<Tolerance>> {
        let mut all = Vec::new();
        if !self.words.accept("TOLERANCE") {
            return Ok(all);
        }
        while let Some(word) = self.words.peek() {
            let percent = word.ends_with('%');
            let Ok(by) = word.trim_end_matches('%').parse() else { break };
            self.words.next();
            all.push(Tolerance { by, percent });
        }
        match all.len() {
            0 => Err(self.words.invalid("a tolerance is a number")),
            _ => Ok(all),
        }
    }

    fn elements(&mut self, buffer: usize) -> Result<Check> {
        let at: usize = self.words.read("an index")?;
        let second = self.words.peek().and_then(|w| w.parse::<u32>().ok());
        if let Some(y) = second {
            self.words.next();
            let x = u32::try_from(at).unwrap_or(u32::MAX);
            let mut rectangle = [x, y, 1, 1];
            if self.words.accept("SIZE") {
                rectangle[2] = self.words.read("a width")?;
                rectangle[3] = self.words.read("a height")?;
            }
            let mut tolerances = self.tolerances()?;
            let n = match self.words.required("a comparison")? {
                "EQ_RGBA" => 4,
                "EQ_RGB" => 3,
                other => return Err(self.words.refused(format!("the comparison {other}"))),
            };
            let colour =
                (0..n).map(|_| self.words.number().map(|n| n.float())).collect::<Result<_>>()?;
            if tolerances.is_empty() {
                tolerances = self.tolerances()?;
            }
            if self.script.buffers[buffer].texels.is_none() {
                return Err(self.words.invalid("the buffer has no pixels"));
            }
            return Ok(Check::Pixels { rectangle, colour, tolerances });
        }
        let mut tolerances = self.tolerances()?;
        let comparison = match self.words.required("a comparison")? {
            "EQ" => Comparison::Eq,
            "NE" => Comparison::Ne,
            "LT" => Comparison::Lt,
            "LE" => Comparison::Le,
            "GT" => Comparison::Gt,
            "GE" => Comparison::Ge,
            other => return Err(self.words.refused(format!("the comparison {other}"))),
        };
        let mut numbers = Vec::new();
        while self.words.peek().is_some_and(|w| w != "TOLERANCE") {
            numbers.push(self.words.number()?);
        }
        if tolerances.is_empty() {
            tolerances = self.tolerances()?;
        }
        if numbers.is_empty() {
            return Err(Error::Invalid {
                line: self.words.line(),
                what: "the expectation has no values".to_owned(),
            });
        }
        Ok(Check::Numbers { at, comparison, numbers, tolerances })
    }
}

/// The corners of a rectangle as a triangle strip.
fn corners(x: f32, y: f32, w: f32, h: f32) -> [[f32; 2]; 4] {
    [[x, y + h], [x, y], [x + w, y + h], [x + w, y]]
}

fn grid([x, y]: [f32; 2], [w, h]: [f32; 2], columns: u32, rows: u32) -> Vec<[f32; 2]> {
    let (w, h) = (w / columns as f32, h / rows as f32);
    let cell = |n: u32| {
        let (x, y) = (x + (n % columns) as f32 * w, y + (n / columns) as f32 * h);
        let [a, b, c, d] = corners(x, y, w, h);
        [a, b, c, c, b, d]
    };
    (0..columns * rows).flat_map(cell).collect()
}
