"""Writes a model of random weights that looks at pictures and says letters: run by the Python of transformers-serve.

``python tiny_vision_model.py FOLDER``. Half a megabyte: LLaVA over CLIP and Llama with a vocabulary of bytes. Which
letters it says is chance; that it says A to D alone, one at least, and comes to an end, its settings see to.
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

LONGEST = 16_384  # tokens
SIDE, PATCH = 80, 16  # 25 tokens of an image: of fewer than 16 our probe says that it was left out
TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}: {% for part in message.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}<|end|>{% endfor %}"
    "<|start|>assistant: "
)


def write(folder: str) -> None:
    torch.manual_seed(1)
    words = _tokenizer()
    special = {f"{one}_token_id": getattr(words, f"{one}_token_id") for one in ("bos", "eos", "pad")}
    llama = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LONGEST,
        **special,
    )
    clip = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=PATCH,
    )
    image = words.convert_tokens_to_ids("<image>")
    model = LlavaForConditionalGeneration(
        LlavaConfig(vision_config=clip, text_config=llama, image_token_id=image, vision_feature_layer=-1)
    )
    said = {*map(words.convert_tokens_to_ids, "ABCD"), words.eos_token_id}
    settings = {"do_sample": True, "min_new_tokens": 1, "suppress_tokens": sorted({*range(len(words))} - said)}
    model.generation_config.update(**settings, **special)
    model.save_pretrained(folder)
    pictures = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    LlavaProcessor(
        pictures,
        words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    characters = {character: number for number, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    bytewise = Tokenizer(models.BPE(vocab=characters, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        bos_token="<|start|>",
        eos_token="<|end|>",
        pad_token="<|pad|>",
        extra_special_tokens={"image_token": "<image>"},
        model_max_length=LONGEST,
    )


if __name__ == "__main__":
    write(sys.argv[1])
