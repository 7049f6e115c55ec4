"""Select and check the images of a request."""

from __future__ import annotations

import pytest

from tests.support.contexts import repaired, sent
from tests.support.pictures import base64, gif, jpeg, png
from tests.support.talk import assistant, call, image, result, text, user

SMALL = base64(png())


def shown(*blocks):
    """Return the content that a user's blocks become, and the rules that repaired it."""
    talk = [user(list(blocks))]
    return sent(*talk)[0]["content"], [rule for rule, _ in repaired(*talk)]


def block(data, media_type="image/png"):
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def left_out(reason):
    return text(f"[image left out: {reason}]")


def kinds(blocks):
    return "".join("i" if each["type"] == "image" else "t" for each in blocks)


def test_an_image_is_base64_with_its_type():
    assert shown(text("look"), image(SMALL)) == ([text("look"), block(SMALL)], [])


def test_an_image_in_a_result_stands_in_the_result():
    talk = [user("a"), assistant(call("read")), result("see", image(SMALL))]
    assert sent(*talk)[2]["content"][0]["content"] == [text("see"), block(SMALL)]
    assert repaired(*talk) == []


@pytest.mark.parametrize("claimed", ["image/png", "image/jpg", "image/bmp", ""])
def test_an_image_that_is_another_than_it_is_said_to_be_is_sent_as_what_it_is(claimed):
    data = base64(jpeg())
    assert shown({**image(data), "mimeType": claimed}) == ([block(data, "image/jpeg")], ["image-type"])


@pytest.mark.parametrize(
    "data",
    ["", "QUJD", "no base64!", SMALL[:-1], f"data:image/png;base64,{SMALL}", base64(b"BM" * 40), "\ud83d"],
)
def test_an_image_that_cannot_be_read_becomes_text(data):
    assert shown(image(data)) == ([left_out("its data is not JPEG, PNG, GIF or WebP")], ["image-data"])


@pytest.mark.parametrize(("width", "height"), [(8001, 1), (1, 8001)])
def test_an_image_of_more_than_8000_pixels_a_side_becomes_text(width, height):
    reason = f"it has {width} x {height} pixels"
    assert shown(image(base64(png(width, height)))) == ([left_out(reason)], ["image-size"])


def test_an_image_of_8000_pixels_a_side_is_sent():
    assert kinds(shown(image(base64(png(8000, 8000))))[0]) == "i"


def test_an_image_of_more_than_5_megabytes_of_base64_becomes_text():
    fitting = image(base64(png(size=5 * 2**20 * 3 // 4 - 100)))
    larger = image(base64(png(size=5 * 2**20 * 3 // 4)))
    blocks, repairs = shown(fitting, larger)
    assert (kinds(blocks), blocks[1], repairs) == ("it", left_out("it has more than 5 MB"), ["image-size"])


def test_the_newest_100_images_are_sent():
    blocks, repairs = shown(*[image(SMALL)] * 103)
    assert kinds(blocks) == "ttt" + "i" * 100
    assert blocks[0] == left_out("newer images fill the request")
    assert repairs == ["image-count"] * 3


def test_images_in_failed_results_take_no_room():
    talk = [user([image(SMALL)] * 100), assistant(call("read")), result("no", image(SMALL), is_error=True)]
    assert kinds(sent(*talk)[0]["content"]) == "i" * 100


@pytest.mark.slow
def test_of_images_that_fill_a_request_the_newest_are_sent():
    four_megabytes = image(base64(png(size=3 * 2**20)))
    blocks, repairs = shown(*[four_megabytes] * 7)
    assert kinds(blocks) == "ttiiiii"
    assert repairs == ["image-count"] * 2


def test_among_more_than_20_images_those_of_more_than_2000_pixels_a_side_become_text():
    large = image(base64(gif(2001, 1)))
    assert kinds(shown(large, *[image(SMALL)] * 19)[0]) == "i" * 20
    blocks, repairs = shown(large, *[image(SMALL)] * 20)
    assert kinds(blocks) == "t" + "i" * 20
    assert blocks[0] == left_out("it has 2001 x 1 pixels among many images")
    assert repairs == ["image-size"]


def test_images_that_are_left_out_do_not_count():
    blocks, _ = shown(*[image(SMALL)] * 100, *[image("QUJD")] * 3)
    assert kinds(blocks) == "i" * 100 + "ttt"
