//! Sentences for a command line that cannot be read.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns one sentence for `error`: the fault, and what would be right. `arguments` are those behind the program's name.
pub(crate) fn sentence(error: &clap::Error, arguments: &[String]) -> String {
    let told = match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(error, arguments),
        ErrorKind::MissingRequiredArgument => missing(error),
        _ => None,
    };
    told.unwrap_or_else(|| in_one_line(&error.render().to_string()))
}

/// Returns the sentence for a word that is no command: those that are like it, and the call that it may mean.
fn unknown_command(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let like: &[String] = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(like)) => like,
        _ => &[],
    };
    let name = match word.as_str() {
        // Of the receiver: only the sender calls. The name stands behind it.
        "call" => {
            arguments.iter().skip_while(|argument| *argument != word).nth(1).filter(|next| !next.starts_with('-'))
        }
        _ => Some(word),
    };
    let mut meant: Vec<_> = like.iter().filter(|like| *like != word).map(|like| format!("`{like}`")).collect();
    meant.push(format!("`sender call{}`", name.map(|name| format!(" {name}")).unwrap_or_default()));
    Some(format!("there is no command `{word}` here: did you mean {}?", meant.join(" or ")))
}

/// Returns the sentence for arguments that are missing: their names, and the whole command.
fn missing(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(names)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    let (verb, usage) = (if names.len() == 1 { "is" } else { "are" }, usage.to_string());
    Some(format!("{} {verb} missing: write `{}`", names.join(" and "), usage.trim_start_matches("Usage:").trim()))
}

/// Returns the lines up to the usage as one: a list behind a colon with commas, other lines as parts of a sentence.
fn in_one_line(text: &str) -> String {
    let (mut sentence, mut in_list) = (String::new(), false);
    for line in text.lines().take_while(|line| !line.starts_with("Usage:")) {
        let is_indented = line.starts_with(' ');
        let line = line.trim();
        // Nobody passes such a word as a value here.
        let is_needless = line.starts_with("For more") || line.contains("as a value, use");
        if line.is_empty() || is_needless {
            continue;
        }
        let opens_list = sentence.ends_with(':');
        sentence += match (sentence.is_empty(), opens_list || line.starts_with('['), in_list && is_indented) {
            (true, ..) => "",
            (_, true, _) => " ",
            (_, _, true) => ", ",
            _ => "; ",
        };
        in_list = is_indented && (opens_list || in_list);
        sentence += line;
    }
    sentence.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::*;

    /// A program with all that can be wrong.
    fn program() -> Command {
        let required = |name: &'static str| Arg::new(name).required(true);
        let flag = |name: &'static str| Arg::new(name).long(name);
        Command::new("sender")
            .arg(flag("sink"))
            .arg(flag("to").conflicts_with_all(["listen", "frames"]))
            .arg(flag("listen"))
            .arg(flag("frames"))
            .arg(flag("speed").value_parser(["slow", "fast"]))
            .subcommand(Command::new("run"))
            .subcommand(Command::new("join").arg(required("TICKET").value_name("TICKET")).arg(Arg::new("NAME")))
            .subcommand(
                Command::new("set")
                    .arg(required("settings").value_name("KEY=VALUE").action(ArgAction::Append).num_args(1..)),
            )
            .subcommand(Command::new("copy").arg(required("FROM")).arg(required("TO")))
    }

    fn said(arguments: &str) -> String {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let error = program().try_get_matches_from(["sender".to_owned()].iter().chain(&arguments)).unwrap_err();
        sentence(&error, &arguments)
    }

    #[test]
    fn a_missing_argument_is_named_with_the_whole_command() {
        assert_eq!(said("join"), "<TICKET> is missing: write `sender join <TICKET> [NAME]`");
        assert_eq!(said("set"), "<KEY=VALUE>... is missing: write `sender set <KEY=VALUE>...`");
        assert_eq!(said("copy"), "<FROM> and <TO> are missing: write `sender copy <FROM> <TO>`");
    }

    #[test]
    fn a_word_that_is_no_command_may_be_whom_to_call() {
        assert_eq!(said("clara"), "there is no command `clara` here: did you mean `sender call clara`?");
        assert_eq!(said("call clara"), "there is no command `call` here: did you mean `sender call clara`?");
        assert_eq!(said("call"), "there is no command `call` here: did you mean `sender call`?");
        assert_eq!(said("call --sink x"), "there is no command `call` here: did you mean `sender call`?");
        assert_eq!(said("runn"), "there is no command `runn` here: did you mean `run` or `sender call runn`?");
    }

    #[test]
    fn other_faults_are_one_line_without_stray_signs_and_needless_tips() {
        assert_eq!(said("--mute"), "unexpected argument '--mute' found");
        assert_eq!(said("join --mute x"), "unexpected argument '--mute' found");
        assert_eq!(said("--sinc=x"), "unexpected argument '--sinc' found; tip: a similar argument exists: '--sink'");
        assert_eq!(said("--speed x"), "invalid value 'x' for '--speed <speed>' [possible values: slow, fast]");
        let conflict = said("--to a --listen b --frames c");
        assert!(conflict.ends_with("cannot be used with: --listen <listen>, --frames <frames>"), "{conflict}");
        let missing = said("--to");
        assert_eq!(missing, "a value is required for '--to <to>' but none was supplied");
    }
}
