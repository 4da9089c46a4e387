//! The debugger on a whole terminal: source, program, lanes, registers, and a line for commands.

use std::io;

use crate::command::{self, Answer, describe, row};
use crate::{BreakpointLocation, Register, Session};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

/// Lanes of a SIMD-group.
const LANES: u32 = 32;
/// Minimum number of lines for the answer to a command, with its frame.
const ANSWER_LINES: u16 = 5;
/// Lines that the answer leaves to the rest of the screen.
const REST_LINES: u16 = 12;
/// Columns from which source and program stand side by side.
const WIDE: u16 = 90;

/// Key bindings, most important first: narrow terminals show the start.
const KEYS: &str =
    " F1 help  F11/↓ step  ↑ back  F10 line  F5 run  ←→ lane  PgUp/PgDn  Tab pane  Ctrl+C leave";

/// The answer to a command.
enum AnswerView {
    Text(String),
    /// An image of the recording.
    Picture(usize),
}

impl Default for AnswerView {
    fn default() -> AnswerView {
        AnswerView::Text(String::new())
    }
}

impl AnswerView {
    /// The lines of the answer, for a pane of `columns` columns.
    fn lines<'a>(&'a self, s: &'a Session, columns: usize) -> Vec<Line<'a>> {
        match self {
            AnswerView::Text(text) => text.lines().map(Line::raw).collect(),
            AnswerView::Picture(n) => {
                let Some(image) = s.recording.images.get(*n) else { return Vec::new() };
                let colour = |[r, g, b]: [u8; 3]| Color::Rgb(r, g, b);
                let row = |row: Vec<[[u8; 3]; 2]>| {
                    let cells = row.into_iter();
                    Line::from_iter(cells.map(|[upper, lower]| {
                        Span::raw("\u{2580}").fg(colour(upper)).bg(colour(lower))
                    }))
                };
                let title = std::iter::once(Line::raw(image.what.as_str()));
                title.chain(image.blocks(columns).into_iter().map(row)).collect()
            }
        }
    }
}

/// State of the user interface that is not part of the session.
#[derive(Default)]
struct Screen {
    input: String,
    last: String,
    answer: AnswerView,
    /// The first register that is shown.
    first: usize,
    /// The first line of the answer that is shown.
    answer_first: usize,
    /// The page keys move the answer, not the registers.
    pages_answer: bool,
}

/// The action of a key.
enum Action {
    Command(String),
    Type(KeyCode),
    Scroll(isize),
    ChangePane,
    Quit,
    None,
}

fn action(key: KeyEvent, s: &Session, screen: &Screen) -> Action {
    let command = |text: &str| Action::Command(text.to_owned());
    let lane = |by: u32| Action::Command(format!("lane {}", (s.lane as u32 + by) % LANES));
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if control => Action::Quit,
        KeyCode::F(1) => command("help"),
        KeyCode::F(5) if key.modifiers.contains(KeyModifiers::SHIFT) => command("reverse"),
        KeyCode::F(5) => command("continue"),
        KeyCode::F(10) if key.modifiers.contains(KeyModifiers::SHIFT) => command("prev"),
        KeyCode::F(10) => command("next"),
        KeyCode::F(11) if key.modifiers.contains(KeyModifiers::SHIFT) => command("back"),
        KeyCode::F(11) | KeyCode::Down => command("step"),
        KeyCode::Up => command("back"),
        KeyCode::Right => lane(1),
        KeyCode::Left => lane(LANES - 1),
        KeyCode::PageDown => Action::Scroll(8),
        KeyCode::PageUp => Action::Scroll(-8),
        KeyCode::Tab => Action::ChangePane,
        KeyCode::Enter if screen.input.trim().is_empty() => Action::Command(screen.last.clone()),
        KeyCode::Enter => Action::Command(screen.input.clone()),
        KeyCode::Char(_) | KeyCode::Backspace => Action::Type(key.code),
        _ => Action::None,
    }
}

/// Shows the session until the user leaves it.
///
/// # Errors
/// The terminal fails.
pub fn run(mut session: Session) -> io::Result<()> {
    // Puts the terminal back in a panic, too.
    let mut terminal = ratatui::try_init()?;
    terminal.clear()?;
    let answer = AnswerView::Text(command::whereabouts(&session));
    let mut screen = Screen { answer, ..Screen::default() };
    let result = loop {
        if let Err(e) = terminal.draw(|frame| draw(frame, &session, &screen)) {
            break Err(e);
        }
        let key = match event::read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => key,
            Ok(_) => continue,
            Err(e) => break Err(e),
        };
        if !press(key, &mut session, &mut screen) {
            break Ok(());
        }
    };
    ratatui::restore();
    result
}

/// Carries out a key; false when the user leaves.
fn press(key: KeyEvent, session: &mut Session, screen: &mut Screen) -> bool {
    match action(key, session, screen) {
        Action::Quit => return false,
        Action::Type(KeyCode::Char(c)) => screen.input.push(c),
        Action::Type(_) => {
            screen.input.pop();
        }
        Action::ChangePane => screen.pages_answer ^= true,
        Action::Scroll(by) if screen.pages_answer => {
            // The pane is narrower, if anything; a picture has no more lines than columns, but for tall ones.
            let last = screen.answer.lines(session, usize::from(u8::MAX)).len().saturating_sub(1);
            screen.answer_first = screen.answer_first.saturating_add_signed(by).min(last);
        }
        Action::Scroll(by) => {
            let last = session.recording.registers().saturating_sub(1);
            screen.first = screen.first.saturating_add_signed(by).min(last);
        }
        Action::Command(line) => {
            screen.answer = match command::run(session, &line) {
                Ok(Answer::Quit) => return false,
                Ok(Answer::Text(text)) => AnswerView::Text(text),
                Ok(Answer::Picture(n)) => AnswerView::Picture(n),
                Err(e) => AnswerView::Text(e),
            };
            screen.last = line;
            screen.input.clear();
            screen.answer_first = 0;
        }
        Action::None => {}
    }
    true
}

fn draw(frame: &mut Frame<'_>, s: &Session, screen: &Screen) {
    let area = frame.area();
    let shown = screen.answer.lines(s, usize::from(area.width.saturating_sub(2)));
    let text_lines = u16::try_from(shown.len()).unwrap_or(u16::MAX);
    let most = area.height.saturating_sub(REST_LINES).max(ANSWER_LINES);
    let [code, lanes, registers, answer, input, keys] = Layout::vertical([
        Constraint::Fill(3),
        Constraint::Length(1),
        Constraint::Fill(2),
        Constraint::Length(text_lines.saturating_add(2).clamp(ANSWER_LINES, most)),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [first, second] = match (s.recording.source.is_empty(), area.width >= WIDE) {
        (true, _) => [Rect::ZERO, code],
        (false, true) => Layout::horizontal(halves).areas(code),
        (false, false) => Layout::vertical(halves).areas(code),
    };
    if !first.is_empty() {
        source(frame, first, s);
    }
    program(frame, second, s);
    frame.render_widget(Paragraph::new(lane_line(s)), lanes);
    register_table(frame, registers, s, screen);
    answer_lines(frame, answer, screen, shown);
    let line = Line::from(vec!["> ".bold(), Span::raw(&screen.input), "_".dim()]);
    frame.render_widget(Paragraph::new(line), input);
    frame.render_widget(Paragraph::new(KEYS).dim(), keys);
}

fn answer_lines(frame: &mut Frame<'_>, area: Rect, screen: &Screen, shown: Vec<Line<'_>>) {
    let block = Block::bordered().title(" answer ");
    let height = usize::from(block.inner(area).height);
    let rest = shown.len().saturating_sub(screen.answer_first + height);
    let block = match (rest, screen.pages_answer) {
        (0, _) => block,
        (rest, true) => block.title_bottom(format!(" {rest} more lines: PageDown ")),
        (rest, false) => block.title_bottom(format!(" {rest} more lines: Tab, PageDown ")),
    };
    let rows: Vec<_> = shown.into_iter().skip(screen.answer_first).take(height).collect();
    frame.render_widget(Paragraph::new(rows).block(block), area);
}

/// Rows of `all` around one that is lit up, as many as fit.
fn around<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    all: impl ExactSizeIterator<Item = Line<'a>>,
    lit: usize,
) {
    let block = Block::bordered().title(title);
    let height = usize::from(block.inner(area).height);
    let start = lit.saturating_sub(height / 2).min(all.len().saturating_sub(height));
    let now = Style::new().reversed();
    let rows: Vec<Line<'_>> = all
        .enumerate()
        .skip(start)
        .take(height)
        .map(|(k, line)| if k == lit { line.style(now) } else { line })
        .collect();
    frame.render_widget(Paragraph::new(rows).block(block), area);
}

fn source(frame: &mut Frame<'_>, area: Rect, s: &Session) {
    let line = s.instruction().map_or(0, |i| i.line as usize);
    let rows = s.recording.source.iter().enumerate();
    let stops = |line: u32| s.breakpoints.iter().any(|b| b.at == BreakpointLocation::Line(line));
    let rows = rows.map(|(k, text)| {
        let mark = if stops(k as u32 + 1) { '*' } else { ' ' };
        Line::raw(format!("{mark}{:4} {}", k + 1, text.replace('\t', "    ")))
    });
    around(frame, area, format!(" {} ", s.recording.file), rows, line.wrapping_sub(1));
}

fn program(frame: &mut Frame<'_>, area: Rect, s: &Session) {
    let at = s.step().map_or(0, |step| step.at as usize);
    let rows = s.recording.program.iter();
    let stops =
        |offset: u32| s.breakpoints.iter().any(|b| b.at == BreakpointLocation::Offset(offset));
    let rows = rows.map(|i| {
        let mark = match stops(i.offset) {
            true => '*',
            false if s.recording.findings_at(i.offset).next().is_some() => '!',
            false => ' ',
        };
        Line::raw(format!("{mark}{:4x} {:3}  {}", i.offset, i.line, i.text))
    });
    let last = s.recording.steps().len().saturating_sub(1);
    let title = format!(" {} · step {} of {last} ", s.recording.title, s.at());
    around(frame, area, title, rows, at);
}

/// The lanes: those that execute, those that wait, and the one that is looked at.
fn lane_line(s: &Session) -> Line<'static> {
    let lane = |l: u32| {
        let mark = s.lane_mark(l as usize);
        let span = Span::raw(mark.to_string());
        let span = if mark == '#' { span.green() } else { span.dim() };
        if l as usize == s.lane { span.reversed() } else { span }
    };
    let mut spans = vec![Span::raw(format!(" lane {:2}  ", s.lane))];
    spans.extend((0..LANES).map(lane));
    spans.push("  # executes, others wait".dim());
    Line::from(spans)
}

fn register_table(frame: &mut Frame<'_>, area: Rect, s: &Session, screen: &Screen) {
    let r = &s.recording;
    let title = match r.register_file.is_shared() {
        true => format!(" registers, with the names of lane {}: double words ", s.lane),
        false => format!(" registers of lane {}: bits, integer, float, halves ", s.lane),
    };
    let block = Block::bordered().title(title);
    let height = usize::from(block.inner(area).height);
    let text = |register: usize| match r.register_file.is_shared() {
        true => r.is_used(register).then(|| row(r, register, s.at())),
        false => s.register(Register::of_lane(register), s.lane).map(describe),
    };
    let rows = (screen.first..r.registers()).filter_map(|register| {
        let (text, name) = (text(register)?, s.name(register, s.lane));
        let line = Line::raw(format!("{:<5} {text}  {name}", r.register_file.name(register)));
        Some(if r.changed(register, s.at()) { line.yellow().bold() } else { line })
    });
    let rows: Vec<Line<'_>> = rows.take(height).collect();
    frame.render_widget(Paragraph::new(rows).block(block), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instruction, Recording, Step};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// The text of the screen.
    fn shown(s: &Session, screen: &Screen) -> String {
        shown_in(s, screen, [100, 34])
    }

    fn shown_in(s: &Session, screen: &Screen, [columns, rows]: [u16; 2]) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
        terminal.draw(|frame| draw(frame, s, screen)).expect("it draws");
        terminal.backend().to_string()
    }

    #[test]
    fn keys_step_and_change_lanes() {
        let i = |k: u32| Instruction {
            offset: 4 * k,
            text: format!("inst{k}"),
            line: k + 1,
            ..Default::default()
        };
        let source = vec!["first".to_owned(), "second".to_owned()];
        let mut r = Recording::new("a test".to_owned(), source, vec![i(0), i(1)]);
        r.alive = 3;
        for (at, word) in [(0, [1u32, 2]), (1, [5, 6])] {
            r.push(Step { at, exec: 3 >> at }, [&word[..]].into_iter()).expect("it fits");
        }
        let (mut s, mut screen) = (Session::new(r), Screen::default());
        assert!(shown(&s, &screen).contains("step 0 of 1"));
        let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
        assert!(press(key(KeyCode::F(11)), &mut s, &mut screen));
        assert!(press(key(KeyCode::Right), &mut s, &mut screen));
        let now = shown(&s, &screen);
        for text in ["step 1 of 1", "second", "inst1", "registers of lane 1", "00000006"] {
            assert!(now.contains(text), "{text} is missing:\n{now}");
        }
        for c in "goto 0".chars() {
            assert!(press(key(KeyCode::Char(c)), &mut s, &mut screen));
        }
        assert!(press(key(KeyCode::Enter), &mut s, &mut screen));
        assert!(shown(&s, &screen).contains("step 0 of 1"));
        for c in "break 2".chars() {
            assert!(press(key(KeyCode::Char(c)), &mut s, &mut screen));
        }
        assert!(press(key(KeyCode::Enter), &mut s, &mut screen));
        assert!(shown(&s, &screen).contains("*   2 second"), "{}", shown(&s, &screen));
        // Any size does, the smallest too, and a narrow one shows all panes.
        for size in [[1, 1], [3, 7], [20, 5], [40, 24], [300, 90]] {
            let _ = shown_in(&s, &screen, size);
        }
        let narrow = shown_in(&s, &screen, [60, 40]);
        for text in ["second", "inst1", "registers of lane", "answer", "F1 help"] {
            assert!(narrow.contains(text), "{text} is missing:\n{narrow}");
        }
        assert!(press(key(KeyCode::F(1)), &mut s, &mut screen));
        assert!(shown(&s, &screen).contains("quit, q"));
        let leave = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(!press(leave, &mut s, &mut screen));
    }
}
