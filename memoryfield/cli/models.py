"""The command about the models: which there are, and whether they answer."""

from .common import FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
from .render import escaped

app = command_group()


@app.command(cls=PlainCommand)
def models(field: FieldOption = None, as_json: JsonOption = False) -> None:
    """List the models to embed with: code, dimensions, where it runs, and whether it answers now.

    The bundled one, those of the Ollama server at OLLAMA_HOST, those that the server at OPENAI_BASE_URL
    lists if that or OPENAI_API_KEY is set, and with -f those of the field's indexes. `embed --model` and
    `search --model` take the code of a known model or of an index, else ollama:TAG or openai:MODEL.

    \b
    Example:
      $ memoryfield models
      $ memoryfield models --json
    """
    from ..index.models import list_models

    if field is None:
        found = list_models()
    else:
        with open_field(field) as opened:
            found = list_models(opened.container)
    if as_json:
        print_json({"models": [model.to_dict() for model in found]})
        return
    for model in found:
        dimensions = f"{model.dimensions} dimensions" if model.dimensions else "dimensions not known"
        answers = "yes" if model.answers else f"no: {model.problem}"
        print(
            escaped("  ".join(part for part in (model.model or model.spec, dimensions, model.where, answers) if part))
        )
